//go:build !kube133 && !kube134 && !kube135

package main

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (s *informerSet) InformerName() *cache.InformerName { return nil }

func recordNothing(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

func (s *scheduling) schedulePod(
	profile framework.Framework, state cycleState, info *framework.QueuedPodInfo,
) (scheduler.ScheduleResult, error) {
	return s.SchedulePod(s.ctx, profile, state, info)
}
