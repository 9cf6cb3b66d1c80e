//go:build kube133

package main

import "k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"

// orderVictims leaves victims of equal importance in the order of the plugin's sort, which nobody can replace in 1.33.
func orderVictims(*defaultpreemption.DefaultPreemption) {}
