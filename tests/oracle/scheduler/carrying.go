package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// carrying carries out moves one after the other with the scheduler as it comes: it stops at a sample of the nodes, goes
// on where its last search ended, and leaves ties to chance. One worker, so that no window differs from what one finds.
type carrying struct {
	file string // a JSON list of moves
}

// move is a pod that is evicted, and the node that its replacement is nominated for.
type move struct {
	Pod       string `json:"pod"`       // namespace/name
	Nominated string `json:"nominated"` // empty where nobody steers the replacement
	After     bool   `json:"after"`     // the replacement comes only once the pod is gone
}

// run prints a JSON list: of each move the node where its replacement is in the end, empty where it still waits. Pods that
// wait at the beginning are left out.
func (c *carrying) run(asked *question, out io.Writer) error {
	objects, err := asked.load()
	if err != nil {
		return err
	}
	moves, err := c.moves()
	if err != nil {
		return err
	}
	objects.pods, _ = objects.split()
	s, err := (&benchmark{parallelism: 1}).scheduling(asked.Config)
	if err != nil {
		return err
	}
	defer s.stop()
	s.fill(objects)
	landed, err := s.carryOut(moves, objects.pods)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(landed)
}

func (c *carrying) moves() ([]move, error) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil, err
	}
	moves := []move{}
	return moves, json.Unmarshal(text, &moves)
}

// carryOut makes the moves in turn. Replacements that found no place are tried once more at the end.
func (s *scheduling) carryOut(moves []move, pods []*v1.Pod) ([]string, error) {
	byKey := make(map[string]*v1.Pod, len(pods))
	for _, pod := range pods {
		byKey[keyOf(pod)] = pod
	}
	landed := make([]string, len(moves))
	for i, m := range moves {
		pod := byKey[m.Pod]
		if pod == nil {
			return nil, fmt.Errorf("%s is on no node, or has been moved", m.Pod)
		}
		delete(byKey, m.Pod)
		var err error
		if landed[i], err = s.move(m, pod); err != nil {
			return nil, err
		}
	}
	for i, m := range moves {
		if landed[i] == "" {
			var err error
			if landed[i], err = s.try(m.Pod + replaced); err != nil {
				return nil, err
			}
		}
	}
	return landed, nil
}

// replaced is what the name of a replacement ends with.
const replaced = "-new"

// move evicts a pod and has its replacement scheduled: beside the pod while that terminates, and again when it is gone.
func (s *scheduling) move(m move, pod *v1.Pod) (string, error) {
	pods := s.informers.byType[reflect.TypeFor[*v1.Pod]()]
	if m.After {
		pods.remove(pod)
		pods.add(replacement(pod, m.Nominated))
		return s.try(m.Pod + replaced)
	}
	leaving := pod.DeepCopy()
	now := metav1.Now()
	leaving.DeletionTimestamp = &now
	leaving.ResourceVersion += "+"
	pods.update(pod, leaving)
	pods.add(replacement(pod, m.Nominated))
	node, err := s.try(m.Pod + replaced)
	pods.remove(leaving)
	if err != nil || node != "" {
		return node, err
	}
	return s.try(m.Pod + replaced)
}

// try makes one attempt to schedule a pod that waits, and returns its node.
func (s *scheduling) try(pod string) (string, error) {
	info, out, err := s.take(pod)
	if err != nil {
		return "", err
	}
	if info == nil {
		return "", fmt.Errorf("%s is kept out of the queue: %s", pod, out.Gated)
	}
	a := s.attempt(info, s.Profiles[info.Pod.Spec.SchedulerName])
	return a.node, a.settle(a.node)
}

// replacement returns the pod that a controller creates for one that goes.
func replacement(pod *v1.Pod, nominated string) *v1.Pod {
	created := pod.DeepCopy()
	created.Name += replaced
	created.UID += types.UID(replaced)
	created.CreationTimestamp = metav1.Now()
	created.Spec.NodeName = ""
	created.Status = v1.PodStatus{Phase: v1.PodPending, NominatedNodeName: nominated}
	return created
}
