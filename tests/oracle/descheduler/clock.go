package main

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setClock makes the cluster look as old now as it was at the asked time; the zero time leaves it alone. The plugins
// read the real clock, so the timestamps move instead: all that a plugin reads as a time. A timestamp that is missing
// stays missing.
func (c *cluster) setClock(asked time.Time) {
	if asked.IsZero() {
		return
	}
	by := time.Since(asked) - c.moved
	c.moved += by
	for _, pod := range c.pods {
		move(&pod.CreationTimestamp, by)
		move(pod.Status.StartTime, by)
		for i := range pod.Status.Conditions {
			move(&pod.Status.Conditions[i].LastTransitionTime, by)
		}
	}
}

func move(t *metav1.Time, by time.Duration) {
	if !t.IsZero() {
		t.Time = t.Add(by)
	}
}
