package main

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// attempt is one scheduling cycle of a pod, up to the choice of a node.
type attempt struct {
	scheduling *scheduling
	info       *framework.QueuedPodInfo
	profile    framework.Framework
	state      cycleState
	node       string          // the scheduler's choice
	err        error           // why there is none
	nominated  *nominatingInfo // what to do to the pod's nominated node; nil is nothing
}

// attempt runs the cycle. The profile may be one that listens (recorder.go).
func (s *scheduling) attempt(info *framework.QueuedPodInfo, profile framework.Framework) *attempt {
	a := &attempt{scheduling: s, info: info, profile: profile, state: framework.NewCycleState()}
	a.state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	snapshot := profile.SnapshotSharedLister().(*internalcache.Snapshot)
	if a.err = s.Cache.UpdateSnapshot(klog.Background(), snapshot); a.err != nil {
		return a
	}
	var result scheduler.ScheduleResult
	result, a.err = s.schedulePod(profile, a.state, info)
	a.node = result.SuggestedHost
	if a.err != nil {
		a.preempt()
	}
	return a
}

// preempt runs the PostFilter plugins where the scheduler does, and completes the error text with theirs.
func (a *attempt) preempt() {
	var unfit *framework.FitError
	if !errors.As(a.err, &unfit) || !a.profile.HasPostFilterPlugins() {
		a.nominated = &nominatingInfo{NominatingMode: modeOverride}
		return
	}
	result, status := a.profile.RunPostFilterPlugins(
		a.scheduling.ctx, a.state, a.info.Pod, unfit.Diagnosis.NodeToStatus)
	unfit.Diagnosis.PostFilterMsg = status.Message()
	if result != nil {
		a.nominated = result.NominatingInfo
	}
}

// status is the failure as the scheduler's failure handler wants it.
func (a *attempt) status() *fwk.Status {
	var unfit *framework.FitError
	if errors.As(a.err, &unfit) || errors.Is(a.err, scheduler.ErrNoNodesAvailable) {
		return fwk.NewStatus(fwk.Unschedulable).WithError(a.err)
	}
	return fwk.AsStatus(a.err)
}

// settle makes the outcome true: the pod is assumed on the node, or without one goes back to the queue.
func (a *attempt) settle(node string) error {
	if node != "" {
		return a.place(node)
	}
	if a.err == nil {
		return a.putBack()
	}
	a.scheduling.FailureHandler(a.scheduling.ctx, a.profile, a.info, a.status(), a.nominated, time.Now())
	return nil
}

// place assumes the pod on a node and reserves its volumes there.
func (a *attempt) place(node string) error {
	pod, err := a.assume(node)
	if err != nil {
		return err
	}
	if status := a.profile.RunReservePluginsReserve(a.scheduling.ctx, a.state, pod, node); !status.IsSuccess() {
		return fmt.Errorf("%s cannot be placed on %s: %w", keyOf(pod), node, status.AsError())
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		return a.giveDevices(pod, node)
	}
	return nil
}

// assume makes later pods find this one on the node, and returns it as they do.
func (a *attempt) assume(node string) (*v1.Pod, error) {
	s := a.scheduling
	pod := a.info.Pod.DeepCopy()
	pod.Spec.NodeName = node
	s.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	s.SchedulingQueue.Done(pod.UID)
	return pod, s.Cache.AssumePod(klog.Background(), pod)
}

// putBack leaves everything as it was before the attempt; the pod waits behind those that were not tried yet.
func (a *attempt) putBack() error {
	return a.scheduling.addUnschedulable(a.info)
}
