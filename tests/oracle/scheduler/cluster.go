package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cluster is what the dumps say: the kinds that the scheduler looks at.
type cluster struct {
	nodes      []*v1.Node
	pods       []*v1.Pod
	namespaces []*v1.Namespace
	budgets    []*policyv1.PodDisruptionBudget

	services     []*v1.Service
	controllers  []*v1.ReplicationController
	replicaSets  []*appsv1.ReplicaSet
	statefulSets []*appsv1.StatefulSet

	volumes     []*v1.PersistentVolume
	claims      []*v1.PersistentVolumeClaim
	classes     []*storagev1.StorageClass
	csiNodes    []*storagev1.CSINode
	csiDrivers  []*storagev1.CSIDriver
	capacities  []*storagev1.CSIStorageCapacity
	attachments []*storagev1.VolumeAttachment
	devices     deviceObjects
	groups      groupObjects
}

// item is one object: its JSON text, and the kind that its list gives it ("" for a mixed list).
type item struct {
	kind string
	text []byte
}

// decode adds one object. Other kinds are left out: a pod's priority, say, is its own, not that of its PriorityClass,
// which the API server copied when the pod was made.
func (c *cluster) decode(it item) error {
	header := struct {
		Kind string `json:"kind"`
	}{it.kind}
	if err := unmarshal(it.text, &header); err != nil {
		return err
	}
	switch header.Kind {
	case "Node":
		return add(&c.nodes, it.text)
	case "Pod":
		return add(&c.pods, it.text)
	case "Namespace":
		return add(&c.namespaces, it.text)
	case "PodDisruptionBudget":
		return add(&c.budgets, it.text)
	case "Service":
		return add(&c.services, it.text)
	case "ReplicationController":
		return add(&c.controllers, it.text)
	case "ReplicaSet":
		return add(&c.replicaSets, it.text)
	case "StatefulSet":
		return add(&c.statefulSets, it.text)
	case "PersistentVolume":
		return add(&c.volumes, it.text)
	case "PersistentVolumeClaim":
		return add(&c.claims, it.text)
	case "StorageClass":
		return add(&c.classes, it.text)
	case "CSINode":
		return add(&c.csiNodes, it.text)
	case "CSIDriver":
		return add(&c.csiDrivers, it.text)
	case "CSIStorageCapacity":
		return add(&c.capacities, it.text)
	case "VolumeAttachment":
		return add(&c.attachments, it.text)
	}
	if err := c.groups.decode(header.Kind, it.text); err != nil {
		return err
	}
	return c.devices.decode(header.Kind, it.text)
}

func add[T any](objects *[]*T, text []byte) error {
	object := new(T)
	*objects = append(*objects, object)
	return unmarshal(text, object)
}

// unmarshal decodes as the Kubernetes decoder does: names are case-sensitive, the last of a repeated key wins.
func unmarshal(text []byte, into any) error {
	err := json.Unmarshal(text, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("%.200s: %w", text, err)
	}
	return nil
}

// complete drops the pods that no scheduler sees, gives the others what an API server would have, and puts everything in
// order: nodes by name, pods by creation, then by name.
func (c *cluster) complete() {
	c.pods = slices.DeleteFunc(c.pods, func(pod *v1.Pod) bool {
		return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
	})
	now := metav1.NewTime(time.Now())
	for _, pod := range c.pods {
		completePod(pod, now)
	}
	slices.SortFunc(c.nodes, func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(keyOf(a), keyOf(b)))
	})
}

// completePod also sets one start time for all pods that have none. To preemption such a pod starts at the time of
// asking, which would be another one at each look.
func completePod(pod *v1.Pod, now metav1.Time) {
	if pod.UID == "" {
		pod.UID = types.UID(keyOf(pod))
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = &now
	}
}

func keyOf(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// split returns the pods on nodes and the others.
func (c *cluster) split() (running, waiting []*v1.Pod) {
	for _, pod := range c.pods {
		if pod.Spec.NodeName != "" {
			running = append(running, pod)
		} else {
			waiting = append(waiting, pod)
		}
	}
	return running, waiting
}
