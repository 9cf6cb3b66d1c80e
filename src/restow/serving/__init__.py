"""What a running restow serves over HTTPS: health and metrics."""
