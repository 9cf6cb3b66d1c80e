package main

import (
	"reflect"
	"unsafe"
)

// askFrom asks about a pod once for each place in the scheduler's list of nodes where the search may start. It ends where
// the configuration says.
func (s *scheduling) askFrom(pod string, starts []int, scoresFor string) ([]*outcome, error) {
	info, out, err := s.take(pod)
	if err != nil || info == nil {
		return []*outcome{out}, err
	}
	outcomes := []*outcome{}
	for _, start := range starts {
		s.startAt(start)
		_, out := s.consider(info, scoresFor)
		outcomes = append(outcomes, out)
	}
	return outcomes, nil
}

// startAt makes the next search for nodes start at an index. The scheduler has no other way to be told.
func (s *scheduling) startAt(index int) {
	field := reflect.ValueOf(s.Scheduler).Elem().FieldByName("nextStartNodeIndex")
	*(*int)(unsafe.Pointer(field.UnsafeAddr())) = index
}
