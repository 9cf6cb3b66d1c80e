package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	cputopology "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// kubelet has the static policies of both managers, with their default options, and states that are kept in memory.
type kubelet struct {
	topology topologymanager.Manager
	machine  machine
	cpus     *cputopology.CPUTopology
	static   cpumanager.Policy
	assigned cpustate.State
	memory   memorymanager.Policy
	blocks   memorystate.State
}

func newKubelet(asked question) (*kubelet, error) {
	logger, info := klog.Background(), asked.Machine.info()
	topology, err := topologymanager.NewManager(info.Topology, asked.Policy, asked.Scope, nil)
	if err != nil {
		return nil, err
	}
	cpus, err := cputopology.Discover(logger, info)
	if err != nil {
		return nil, err
	}
	reserved := asked.Machine.ReservedCPUs
	static, err := cpumanager.NewStaticPolicy(logger, cpus, reserved, cpuset.New(), topology, nil)
	if err != nil {
		return nil, err
	}
	memory, err := memorymanager.NewPolicyStatic(logger, info, asked.Machine.reservedMemory(), topology)
	if err != nil {
		return nil, err
	}
	made := &kubelet{topology, asked.Machine, cpus, static, cpustate.NewMemoryState(logger), memory, memorystate.NewMemoryState(logger)}
	if err := static.Start(logger, made.assigned); err != nil {
		return nil, err
	}
	if err := memory.Start(logger, made.blocks); err != nil {
		return nil, err
	}
	topology.AddHintProvider(logger, cpuHints{made})
	if asked.Memory {
		topology.AddHintProvider(logger, memoryHints{made})
	}
	return made, nil
}

// admit returns why a pod is refused, and leaves nothing of it then; empty if it is taken.
func (k *kubelet) admit(pod *corev1.Pod) string {
	result := k.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	if !result.Admit {
		k.remove(pod, append(pod.Spec.InitContainers, pod.Spec.Containers...))
		return result.Reason + ": " + result.Message
	}
	ended := []corev1.Container{}
	for _, each := range pod.Spec.InitContainers {
		if each.RestartPolicy == nil {
			ended = append(ended, each)
		}
	}
	k.remove(pod, ended)
	return ""
}

func (k *kubelet) remove(pod *corev1.Pod, containers []corev1.Container) {
	for _, each := range containers {
		// Both return without a word where the container has nothing.
		_ = k.static.RemoveContainer(klog.Background(), k.assigned, string(pod.UID), each.Name)
		k.memory.RemoveContainer(klog.Background(), k.blocks, string(pod.UID), each.Name)
	}
}

func (k *kubelet) numaNodes() []numaNode {
	found := []numaNode{}
	allocatable := k.static.GetAllocatableCPUs(k.assigned)
	available := allocatable
	for _, containers := range k.assigned.GetCPUAssignments() {
		for _, each := range containers {
			available = available.Difference(each)
		}
	}
	for id := range k.machine.NumaNodes {
		all := k.cpus.CPUDetails.CPUsInNUMANodes(id)
		node := numaNode{corev1.ResourceCPU: {count(all), count(all.Intersection(allocatable)), count(all.Intersection(available))}}
		for name, table := range k.blocks.GetMachineState()[id].MemoryMap {
			node[name] = amounts{int64(table.TotalMemSize), int64(table.Allocatable), int64(table.Free)}
		}
		found = append(found, node)
	}
	return found
}

func count(cpus cpuset.CPUSet) int64 { return int64(cpus.Size()) }

type cpuHints struct{ *kubelet }

func (k cpuHints) GetTopologyHints(pod *corev1.Pod, container *corev1.Container) map[string][]topologymanager.TopologyHint {
	return k.static.GetTopologyHints(klog.Background(), k.assigned, pod, container)
}

func (k cpuHints) GetPodTopologyHints(pod *corev1.Pod) map[string][]topologymanager.TopologyHint {
	return k.static.GetPodTopologyHints(klog.Background(), k.assigned, pod)
}

func (k cpuHints) AllocatePod(pod *corev1.Pod) error {
	return k.static.AllocatePod(klog.Background(), k.assigned, pod)
}

func (k cpuHints) Allocate(pod *corev1.Pod, container *corev1.Container) error {
	return k.static.Allocate(klog.Background(), k.assigned, pod, container)
}

type memoryHints struct{ *kubelet }

func (k memoryHints) GetTopologyHints(pod *corev1.Pod, container *corev1.Container) map[string][]topologymanager.TopologyHint {
	return k.memory.GetTopologyHints(klog.Background(), k.blocks, pod, container)
}

func (k memoryHints) GetPodTopologyHints(pod *corev1.Pod) map[string][]topologymanager.TopologyHint {
	return k.memory.GetPodTopologyHints(klog.Background(), k.blocks, pod)
}

func (k memoryHints) AllocatePod(pod *corev1.Pod) error {
	return k.memory.AllocatePod(klog.Background(), k.blocks, pod)
}

func (k memoryHints) Allocate(pod *corev1.Pod, container *corev1.Container) error {
	return k.memory.Allocate(klog.Background(), k.blocks, pod, container)
}
