package main

import "fmt"

// question says which pods of which cluster to schedule, and what becomes of them.
type question struct {
	Files     []string    `json:"files"`
	Config    string      `json:"config"`    // a KubeSchedulerConfiguration, empty for the default
	Pod       string      `json:"pod"`       // namespace/name, empty for every pending pod in queue order
	ScoresFor string      `json:"scoresFor"` // all, or needed: none where one node is feasible
	Apply     bool        `json:"apply"`     // place or nominate each pod before the next is asked about
	Place     []placement `json:"place"`     // ask about these pods only, in this order, and put each where it says
	Groups    bool        `json:"groups"`    // let the scheduler decide about groups, in its own loop
	Domains   bool        `json:"domains"`   // with groups that have to share a domain
	Starts    []int       `json:"starts"`    // ask about the pod once for each start of the search, which may end early

	objects []item
}

// placement puts a pod on a node whatever the scheduler says; without a node the pod stays where the scheduler leaves a
// pod that does not fit: in the queue, nominated if preemption found a place.
type placement struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

const (
	scoresForAll    = "all"
	scoresForNeeded = "needed"
)

// answer holds an outcome for each pod that was asked about, or why there is none.
type answer struct {
	Pods  []*outcome `json:"pods"`
	Error string     `json:"error"`
}

func failure(err error) *answer { return &answer{Pods: []*outcome{}, Error: err.Error()} }

// answer sets a scheduler up for the cluster and asks it.
func (q *question) answer() *answer {
	s, err := q.scheduling()
	if err != nil {
		return failure(err)
	}
	defer s.stop()
	pods, err := q.outcomes(s)
	if err != nil {
		return failure(err)
	}
	return &answer{Pods: pods}
}

func (q *question) scheduling() (*scheduling, error) {
	if err := chooseGroups(q.Groups, q.Domains); err != nil {
		return nil, err
	}
	if q.ScoresFor == "" {
		q.ScoresFor = scoresForNeeded
	}
	if q.ScoresFor != scoresForAll && q.ScoresFor != scoresForNeeded {
		return nil, fmt.Errorf("scoresFor %q is neither all nor needed", q.ScoresFor)
	}
	config, err := loadConfig(q.Config)
	if err != nil {
		return nil, err
	}
	if q.Starts == nil {
		visitAllNodes(config)
	}
	config.Parallelism = 1
	objects, err := q.load()
	if err != nil {
		return nil, err
	}
	s, err := newScheduling(config)
	if err != nil {
		return nil, err
	}
	s.watchPreemption()
	s.fill(objects)
	return s, nil
}

func (q *question) load() (*cluster, error) {
	objects := &cluster{}
	if err := objects.readDumps(q.Files); err != nil {
		return nil, err
	}
	for _, it := range q.objects {
		if err := objects.decode(it); err != nil {
			return nil, err
		}
	}
	objects.complete()
	return objects, nil
}

func (q *question) outcomes(s *scheduling) ([]*outcome, error) {
	s.client.frozen = !q.Apply && q.Place == nil && !q.Groups
	switch {
	case q.Groups:
		return s.askLoop()
	case q.Place != nil:
		return s.askPlaced(q.Place, q.ScoresFor)
	case q.Starts != nil:
		return s.askFrom(q.Pod, q.Starts, q.ScoresFor)
	case q.Pod != "":
		return s.askOne(q.Pod, q.ScoresFor)
	default:
		return s.askAll(q.ScoresFor, q.Apply)
	}
}
