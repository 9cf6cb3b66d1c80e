"""What plugins are asked, and how their answers become verdicts, scores and a queue; it knows no plugin."""
