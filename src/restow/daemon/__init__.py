"""What every daemon needs: settings, the connection, the lease, HTTPS, logs, signals, and the order of start and end."""
