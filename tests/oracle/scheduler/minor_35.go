//go:build kube133 || kube134 || kube135

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

func recordNothing(string) events.EventRecorder { return &events.FakeRecorder{} }

func (s *scheduling) schedulePod(
	profile framework.Framework, state cycleState, info *framework.QueuedPodInfo,
) (scheduler.ScheduleResult, error) {
	return s.SchedulePod(s.ctx, profile, state, info.Pod)
}

// pop takes one pod off the queue.
func (s *scheduling) pop(pod *v1.Pod) *framework.QueuedPodInfo {
	info, _ := s.queued(pod.Namespace, pod.Name)
	s.SchedulingQueue.Delete(pod)
	return info
}

func keepVictims(plugin *defaultpreemption.DefaultPreemption) {
	plugin.Evaluator.PreemptPod = func(context.Context, preemption.Candidate, *v1.Pod, *v1.Pod, string) error {
		return nil
	}
}
