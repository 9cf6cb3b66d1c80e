package main

import (
	"context"
	"reflect"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/utils/clock"
)

// scheduling is the real scheduler with informers that nobody feeds but fill.
type scheduling struct {
	*scheduler.Scheduler
	ctx       context.Context
	stop      context.CancelFunc
	informers *informerSet
	client    *client
	watches   map[string]*preemptionWatch // by profile
}

func newScheduling(loaded *config.KubeSchedulerConfiguration) (*scheduling, error) {
	s := &scheduling{informers: newInformerSet(), watches: map[string]*preemptionWatch{}}
	s.client = &client{informers: s.informers}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var err error
	s.Scheduler, err = scheduler.New(s.ctx, s.client, s.informers, nil, recordNothing,
		scheduler.WithComponentConfigVersion(loaded.APIVersion),
		scheduler.WithProfiles(loaded.Profiles...),
		scheduler.WithPercentageOfNodesToScore(loaded.PercentageOfNodesToScore),
		scheduler.WithParallelism(loaded.Parallelism),
		scheduler.WithClock(&stepClock{now: time.Now()}),
	)
	if err != nil {
		s.stop()
		return nil, err
	}
	s.keepVictims()
	return s, nil
}

// fill hands the objects to the scheduler: what pods need first, then those that have a node, then those that wait.
func (s *scheduling) fill(objects *cluster) {
	core, apps, storage := s.informers.Core().V1(), s.informers.Apps().V1(), s.informers.Storage().V1()
	deliver(s.informers, core.Namespaces().Informer(), objects.namespaces)
	deliver(s.informers, core.Services().Informer(), objects.services)
	deliver(s.informers, core.ReplicationControllers().Informer(), objects.controllers)
	deliver(s.informers, apps.ReplicaSets().Informer(), objects.replicaSets)
	deliver(s.informers, apps.StatefulSets().Informer(), objects.statefulSets)
	deliver(s.informers, storage.StorageClasses().Informer(), objects.classes)
	deliver(s.informers, storage.CSINodes().Informer(), objects.csiNodes)
	deliver(s.informers, storage.CSIDrivers().Informer(), objects.csiDrivers)
	deliver(s.informers, storage.CSIStorageCapacities().Informer(), objects.capacities)
	deliver(s.informers, storage.VolumeAttachments().Informer(), objects.attachments)
	deliver(s.informers, core.PersistentVolumes().Informer(), objects.volumes)
	deliver(s.informers, core.PersistentVolumeClaims().Informer(), objects.claims)
	objects.devices.fill(s.informers)
	objects.groups.fill(s.informers)
	deliver(s.informers, s.informers.Policy().V1().PodDisruptionBudgets().Informer(), objects.budgets)
	deliver(s.informers, core.Nodes().Informer(), objects.nodes)
	running, waiting := objects.split()
	deliver(s.informers, core.Pods().Informer(), running)
	deliver(s.informers, core.Pods().Informer(), waiting)
}

// deliver adds objects to the informer of their kind, which exists once somebody has asked for it.
func deliver[T any](informers *informerSet, _ cache.SharedIndexInformer, objects []T) {
	for _, object := range objects {
		informers.byType[reflect.TypeFor[T]()].add(object)
	}
}

// stepClock is the queue's clock. It moves at each look only, so that pods queue in the order in which they were added
// and none waits its backoff out.
type stepClock struct {
	clock.RealClock
	now time.Time
}

func (c *stepClock) Now() time.Time {
	c.now = c.now.Add(time.Nanosecond)
	return c.now
}

func (c *stepClock) Since(then time.Time) time.Duration { return c.now.Sub(then) }
