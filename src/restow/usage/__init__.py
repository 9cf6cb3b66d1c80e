"""What nodes and pods used: metrics of the input, stored histories, CSV files, and what a source of usage is."""
