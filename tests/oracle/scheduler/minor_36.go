//go:build !kube133 && !kube134 && !kube135 && !kube137

// What differs from minor to minor in the scheduler's own interfaces stands in files that build.py chooses by tags; without any
// it is that of 1.36.

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// pop takes one pod off the queue.
func (s *scheduling) pop(pod *v1.Pod) *framework.QueuedPodInfo {
	return s.SchedulingQueue.PopSpecificPod(klog.Background(), pod)
}

func keepVictims(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Executor.PreemptPod = func(
		context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string,
	) error {
		return nil
	}
}
