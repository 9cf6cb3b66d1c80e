//go:build kube133

package main

import v1 "k8s.io/api/core/v1"

// deviceObjects is empty: up to 1.33 the plugin is disabled.
type deviceObjects struct{}

func (*deviceObjects) decode(string, []byte) error { return nil }

func (*deviceObjects) fill(*informerSet) {}

func (a *attempt) giveDevices(*v1.Pod, string) error { return nil }

func (s *scheduling) devicesOf(*v1.Pod) map[string][]string { return nil }
