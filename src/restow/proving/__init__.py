"""No move without a place: where the replacement of a pod lands, and the search for a plan whose moves all gain."""
