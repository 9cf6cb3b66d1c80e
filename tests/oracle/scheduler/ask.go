package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// askAll takes every pod off the queue once, in its order. Pods that may not enter the queue come last.
func (s *scheduling) askAll(scoresFor string, apply bool) ([]*outcome, error) {
	outcomes := []*outcome{}
	gated := s.gated()
	for range len(s.SchedulingQueue.PodsInActiveQ()) {
		info, err := s.next()
		if err != nil {
			return nil, err
		}
		if info.Pod.DeletionTimestamp != nil {
			s.SchedulingQueue.Done(info.Pod.UID)
			continue
		}
		a, out := s.consider(info, scoresFor)
		if apply {
			err = a.settle(out.Node)
		} else {
			err = a.putBack()
		}
		if err != nil {
			return nil, err
		}
		out.Devices = s.devicesOf(info.Pod)
		outcomes = append(outcomes, out)
	}
	return append(outcomes, gated...), nil
}

// askPlaced asks about the pods of a list and puts each where the list says.
func (s *scheduling) askPlaced(placements []placement, scoresFor string) ([]*outcome, error) {
	outcomes := []*outcome{}
	for _, wanted := range placements {
		info, out, err := s.take(wanted.Pod)
		if err != nil {
			return nil, err
		}
		if info != nil {
			var a *attempt
			a, out = s.consider(info, scoresFor)
			if err := a.force(wanted.Node, out.Feasible); err != nil {
				return nil, err
			}
		}
		outcomes = append(outcomes, out)
	}
	return outcomes, nil
}

// force settles the pod on the node even where it is not feasible; then no volume can be reserved.
func (a *attempt) force(node string, feasible []string) error {
	if node != "" && !slices.Contains(feasible, node) {
		_, err := a.assume(node)
		return err
	}
	return a.settle(node)
}

// askOne asks about a single pod, whatever waits before it.
func (s *scheduling) askOne(pod, scoresFor string) ([]*outcome, error) {
	info, out, err := s.take(pod)
	if err != nil {
		return nil, err
	}
	if info != nil {
		_, out = s.consider(info, scoresFor)
	}
	return []*outcome{out}, nil
}

// take takes a pod off the queue, or returns the outcome of one that may not enter it.
func (s *scheduling) take(pod string) (*framework.QueuedPodInfo, *outcome, error) {
	namespace, name, ok := strings.Cut(pod, "/")
	if !ok {
		return nil, nil, fmt.Errorf("pod %q is not of the form namespace/name", pod)
	}
	queued, ok := s.queued(namespace, name)
	if !ok || queued.Pod.DeletionTimestamp != nil {
		return nil, nil, fmt.Errorf("pod %s does not wait to be scheduled", pod)
	}
	if text := s.gate(queued.Pod); text != "" {
		return nil, gatedOutcome(queued.Pod, text), nil
	}
	return s.pop(queued.Pod), nil, nil
}

// gated returns an outcome for each pod that a PreEnqueue plugin keeps out of the queue.
func (s *scheduling) gated() []*outcome {
	outcomes := []*outcome{}
	for _, pod := range s.SchedulingQueue.UnschedulablePods() {
		if text := s.gate(pod); text != "" {
			outcomes = append(outcomes, gatedOutcome(pod, text))
		}
	}
	slices.SortFunc(outcomes, func(a, b *outcome) int { return cmp.Compare(a.Pod, b.Pod) })
	return outcomes
}

func gatedOutcome(pod *v1.Pod, text string) *outcome {
	out := newOutcome(pod)
	out.Gated = text
	return out
}

// gate says what keeps a pod out of the queue; empty is nothing.
func (s *scheduling) gate(pod *v1.Pod) string {
	for _, plugin := range s.Profiles[pod.Spec.SchedulerName].PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(s.ctx, pod); !status.IsSuccess() {
			return status.Message()
		}
	}
	return ""
}
