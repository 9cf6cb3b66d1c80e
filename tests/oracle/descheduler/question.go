package main

import (
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
)

// question says what to judge, when, in which order and how often.
type question struct {
	Files  []string `json:"files"`
	Now    string   `json:"now"`
	Repeat int      `json:"repeat"`
	Order  string   `json:"order"`
	// Favoured are the pods that the orders first and last favour, by namespace/name.
	Favoured []string `json:"favoured"`
	Apart    bool     `json:"apart"` // each cycle is an outcome of its own, so that every order of eviction is told

	objects []item
}

// answer is what the descheduler does: each different outcome of the repeated cycles, or why there is none.
type answer struct {
	Runs    []outcome `json:"runs"`
	Error   string    `json:"error"`
	Seconds *seconds  `json:"seconds,omitempty"`
}

// seconds tells where the time went: load is reading and decoding dumps, setup is everything else outside plugins.
type seconds struct {
	Load    float64         `json:"load"`
	Setup   float64         `json:"setup"`
	Plugins []pluginSeconds `json:"plugins"`
}

// pluginSeconds holds the seconds that one run of a plugin took, cycle by cycle.
type pluginSeconds struct {
	Profile string    `json:"profile"`
	Plugin  string    `json:"plugin"`
	Seconds []float64 `json:"seconds"`
}

func failure(err error) *answer { return &answer{Runs: []outcome{}, Error: err.Error()} }

// answer loads the cluster and the policy once and runs the cycles on fresh caches.
func (q *question) answer(policyPath string) *answer {
	reply := &answer{Seconds: &seconds{Plugins: []pluginSeconds{}}}
	now, err := q.check()
	if err != nil {
		return failure(err)
	}
	start := time.Now()
	objects, err := q.load()
	if err != nil {
		return failure(err)
	}
	reply.Seconds.Load = time.Since(start).Seconds()
	policy, err := descheduler.LoadPolicyConfig(policyPath, &client{cluster: objects}, pluginregistry.PluginRegistry)
	if err != nil {
		return failure(err)
	}
	if policy == nil {
		return failure(fmt.Errorf("no policy file"))
	}
	records, order := make([]*record, q.Repeat), newOrdering(q.Order, q.Favoured)
	for i := range records {
		objects.setClock(now)
		if records[i], err = runCycle(objects, policy.DeepCopy(), order); err != nil {
			return failure(err)
		}
		reply.Seconds.add(records[i])
	}
	reply.Seconds.Setup += time.Since(start).Seconds() - reply.Seconds.Load
	if q.Apart {
		reply.Runs = each(records)
	} else {
		reply.Runs = distinct(records)
	}
	return reply
}

// check fills the defaults in and returns the asked time, zero for the present.
func (q *question) check() (time.Time, error) {
	if q.Order == "" {
		q.Order = canonicalOrder
	}
	if !slices.Contains(orders, q.Order) {
		return time.Time{}, fmt.Errorf("order %q is none of %v", q.Order, orders)
	}
	q.Repeat = max(q.Repeat, 1)
	if q.Now == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, q.Now)
}

func (q *question) load() (*cluster, error) {
	objects, err := readDumps(q.Files)
	if err == nil {
		err = objects.decodeAll(q.objects)
	}
	return objects, err
}

// add notes the plugin times of one cycle and takes them out of the set-up time.
func (s *seconds) add(r *record) {
	for i, run := range r.runs {
		if i == len(s.Plugins) {
			s.Plugins = append(s.Plugins, pluginSeconds{Profile: run.profile, Plugin: run.plugin})
		}
		s.Plugins[i].Seconds = append(s.Plugins[i].Seconds, run.took.Seconds())
		s.Setup -= run.took.Seconds()
	}
}
