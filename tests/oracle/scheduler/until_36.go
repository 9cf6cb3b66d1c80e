//go:build !kube137

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// next takes the first pod off the queue.
func (s *scheduling) next() (*framework.QueuedPodInfo, error) {
	return s.SchedulingQueue.Pop(klog.Background())
}

// queued returns a pod that waits.
func (s *scheduling) queued(namespace, name string) (*framework.QueuedPodInfo, bool) {
	return s.SchedulingQueue.GetPod(name, namespace)
}

func (s *scheduling) addUnschedulable(info *framework.QueuedPodInfo) error {
	return s.SchedulingQueue.AddUnschedulableIfNotPresent(klog.Background(), info, s.SchedulingQueue.SchedulingCycle())
}

func (w *preemptionWatch) SelectVictimsOnNode(
	ctx context.Context, state cycleState, pod *v1.Pod, node nodeInfo, budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	pods, violations, status := w.Interface.SelectVictimsOnNode(ctx, state, pod, node, budgets)
	w.note(node.Node().Name, pods, violations, status)
	return pods, violations, status
}

// taintRules do not count yet.
type taintRules struct{}

func (t *taintRules) decode([]byte) error { return nil }

func (t *taintRules) fill(*informerSet) {}
