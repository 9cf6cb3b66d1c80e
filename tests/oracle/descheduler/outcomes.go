package main

import (
	"fmt"
	"slices"
	"strings"
)

// eviction is one call of Evict by a plugin; refused holds the error when the pod stayed.
type eviction struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`
	Profile   string `json:"profile"`
	Plugin    string `json:"plugin"`
	Refused   string `json:"refused,omitempty"`
}

// pluginError is the error status a plugin returned.
type pluginError struct {
	Profile string `json:"profile"`
	Plugin  string `json:"plugin"`
	Error   string `json:"error"`
}

// outcome is one result of a cycle. Cycles that evict the same pods by the same plugins, in whatever order, and end with
// the same errors count as one; the evictions are in the order of the first of them.
type outcome struct {
	Count     int           `json:"count"`
	Orders    int           `json:"orders"` // how many different eviction orders were seen
	Evictions []eviction    `json:"evictions"`
	Errors    []pluginError `json:"errors"`
}

// each returns the outcome of every cycle, in order.
func each(records []*record) []outcome {
	outcomes := make([]outcome, len(records))
	for i, r := range records {
		outcomes[i] = outcome{1, 1, r.evictions, r.errors}
	}
	return outcomes
}

// distinct returns the outcomes in the order of their first appearance.
func distinct(records []*record) []outcome {
	if len(records) == 1 {
		return each(records)
	}
	outcomes := []outcome{}
	index := map[string]int{}
	orders := map[string]bool{}
	for _, r := range records {
		lines := r.lines()
		order := strings.Join(lines, "\n")
		slices.Sort(lines)
		result := strings.Join(lines, "\n")
		at, known := index[result]
		if !known {
			at = len(outcomes)
			index[result] = at
			outcomes = append(outcomes, outcome{0, 0, r.evictions, r.errors})
		}
		outcomes[at].Count++
		if !orders[order] {
			orders[order] = true
			outcomes[at].Orders++
		}
	}
	return outcomes
}

// lines says what happened, one line an eviction or error; refusals change nothing and are left out.
func (r *record) lines() []string {
	lines := []string{}
	for _, e := range r.evictions {
		if e.Refused == "" {
			lines = append(lines, fmt.Sprintf("%s/%s %s %s", e.Namespace, e.Name, e.Profile, e.Plugin))
		}
	}
	for _, e := range r.errors {
		lines = append(lines, fmt.Sprintf("! %s %s %s", e.Profile, e.Plugin, e.Error))
	}
	return lines
}
