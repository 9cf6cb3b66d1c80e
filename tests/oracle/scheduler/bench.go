package main

import (
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// benchmark measures how fast the scheduler places copies of a dump's pending pods, one after another.
type benchmark struct {
	pods        int
	allNodes    bool
	parallelism int
}

// run prints one line. Set-up is not counted; snapshots, reservations and failed attempts are.
func (b *benchmark) run(asked *question, out io.Writer) error {
	objects, err := asked.load()
	if err != nil {
		return err
	}
	running, waiting := objects.split()
	if len(waiting) == 0 {
		return fmt.Errorf("the dump has no pending pod to copy")
	}
	objects.pods = append(running, copies(waiting, b.pods)...)
	s, err := b.scheduling(asked.Config)
	if err != nil {
		return err
	}
	defer s.stop()
	s.fill(objects)
	start := time.Now()
	placed, tried, err := s.placeAll()
	took := time.Since(start).Seconds()
	if err == nil {
		_, err = fmt.Fprintf(out, "%d nodes, %d pods placed of %d in %.3f s: %.1f a second\n",
			len(objects.nodes), placed, tried, took, float64(placed)/took)
	}
	return err
}

func (b *benchmark) scheduling(config string) (*scheduling, error) {
	loaded, err := loadConfig(config)
	if err != nil {
		return nil, err
	}
	if b.allNodes {
		visitAllNodes(loaded)
	}
	loaded.Parallelism = int32(b.parallelism)
	if err := chooseGates(); err != nil {
		return nil, err
	}
	return newScheduling(loaded)
}

// copies returns count pods that differ from the given ones, taken in turn, by name only.
func copies(pods []*v1.Pod, count int) []*v1.Pod {
	made := make([]*v1.Pod, count)
	for i := range made {
		made[i] = pods[i%len(pods)].DeepCopy()
		made[i].Name = fmt.Sprintf("%s-copy-%d", made[i].Name, i)
		made[i].UID = types.UID(keyOf(made[i]))
	}
	return made
}

// placeAll takes every pod off the queue once and returns how many got a node, and how many there were.
func (s *scheduling) placeAll() (placed, tried int, err error) {
	tried = len(s.SchedulingQueue.PodsInActiveQ())
	for range tried {
		info, err := s.next()
		if err != nil {
			return placed, tried, err
		}
		a := s.attempt(info, s.Profiles[info.Pod.Spec.SchedulerName])
		if err := a.settle(a.node); err != nil {
			return placed, tried, err
		}
		if a.err == nil {
			placed++
		}
	}
	return placed, tried, nil
}
