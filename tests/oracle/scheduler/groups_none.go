//go:build kube133 || kube134

package main

import "errors"

// groupObjects are left out: these minors schedule groups otherwise, or not at all.
type groupObjects struct{}

func (g *groupObjects) decode(string, []byte) error { return nil }

func (g *groupObjects) fill(*informerSet) {}

func chooseGroups(bool, bool) error { return nil }

func (s *scheduling) askLoop() ([]*outcome, error) {
	return nil, errors.New("this minor schedules groups otherwise")
}
