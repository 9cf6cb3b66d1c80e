package main

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	corev1 "k8s.io/api/core/v1"
)

// machine has NUMA nodes that need not be alike.
type machine struct {
	NumaNodes []memories `json:"numaNodes"`
	// Threads of each core.
	Threads int `json:"threads"`
	// ReservedCPUs are kept for the system: those with the lowest numbers.
	ReservedCPUs int `json:"reservedCPUs"`
}

type memories struct {
	Cores     int    `json:"cores"`
	Memory    uint64 `json:"memory"`
	HugePages uint64 `json:"hugePages"`
	// ReservedMemory is kept for the system.
	ReservedMemory uint64 `json:"reservedMemory"`
}

// info is what cAdvisor would say of the machine: CPUs are numbered NUMA node by NUMA node.
func (m machine) info() *cadvisorapi.MachineInfo {
	found := &cadvisorapi.MachineInfo{}
	core := 0
	for id, each := range m.NumaNodes {
		node := cadvisorapi.Node{Id: id, Memory: each.Memory, Distances: m.distances(id)}
		node.HugePages = []cadvisorapi.HugePagesInfo{{PageSize: 2048, NumPages: each.HugePages}}
		for range each.Cores {
			threads := []int{}
			for range m.Threads {
				threads = append(threads, found.NumCores)
				found.NumCores++
			}
			node.Cores = append(node.Cores, cadvisorapi.Core{Id: core, Threads: threads, SocketID: id})
			core++
		}
		found.MemoryCapacity += each.Memory
		found.Topology = append(found.Topology, node)
	}
	found.NumSockets, found.NumPhysicalCores = len(m.NumaNodes), core
	return found
}

func (m machine) distances(from int) []uint64 {
	found := []uint64{}
	for to := range m.NumaNodes {
		if to == from {
			found = append(found, 10)
		} else {
			found = append(found, 20)
		}
	}
	return found
}

func (m machine) reservedMemory() map[int]map[corev1.ResourceName]uint64 {
	found := map[int]map[corev1.ResourceName]uint64{}
	for id, each := range m.NumaNodes {
		found[id] = map[corev1.ResourceName]uint64{corev1.ResourceMemory: each.ReservedMemory}
	}
	return found
}
