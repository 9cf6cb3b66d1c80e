//go:build !kube133 && !kube137

package main

import "k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"

func orderVictims(plugin *defaultpreemption.DefaultPreemption) {
	plugin.MoreImportantPod = byNameAtLast(plugin.MoreImportantPod, keyOf)
}
