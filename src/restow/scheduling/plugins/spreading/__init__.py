"""What PodTopologySpread counts, and how it scores."""
