// Command schedulerlibrary measures how fast sigs.k8s.io/scheduler-library places the pending pods of a dumped cluster.
//
// The library is kube-scheduler's own code for programs that ask what would be scheduled. Its SchedulePods takes the first
// node that passes the filters, without scores, and assumes the pod there. With -all-nodes the parts that it exports for
// that visit and score every node, as kube-scheduler would with percentageOfNodesToScore 100; there the search begins at
// the first node each time.
//
//	schedulerlibrary -bench N -file DUMP [-all-nodes]   placements a second
//
// Build: CGO_ENABLED=0 go build -trimpath -o build/oracle/schedulerlibrary . (build.py does it).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-library/pkg/framework"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"
)

func main() {
	count := flag.Int("bench", 0, "how many of the pending pods are placed, `N`")
	file := flag.String("file", "", "the `dump`, as kubectl get -o json prints it")
	allNodes := flag.Bool("all-nodes", false, "visit and score every node instead of taking the first that fits")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	c, err := read(*file)
	exitOn(err)
	c.waiting = c.waiting[:min(*count, len(c.waiting))]
	place := c.firstThatFits
	if *allNodes {
		place = c.bestOfAll
	}
	ctx := context.Background()
	profiles, snap, err := c.prepared(ctx)
	exitOn(err)
	start := time.Now()
	placed, err := place(ctx, profiles, snap)
	took := time.Since(start).Seconds()
	exitOn(err)
	fmt.Printf("%d nodes, %d pods placed of %d in %.3f s: %.1f a second\n",
		len(c.nodes), placed, len(c.waiting), took, float64(placed)/took)
}

// cluster is what a dump holds.
type cluster struct {
	nodes            []*v1.Node
	running, waiting []*v1.Pod
	others           []runtime.Object
}

func read(path string) (*cluster, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := struct{ Items []json.RawMessage }{}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := &cluster{}
	for _, item := range list.Items {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(item, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		c.add(object)
	}
	return c, nil
}

func (c *cluster) add(object runtime.Object) {
	switch each := object.(type) {
	case *v1.Node:
		c.nodes = append(c.nodes, each)
	case *v1.Pod:
		if each.Spec.NodeName == "" {
			c.waiting = append(c.waiting, each)
		} else {
			c.running = append(c.running, each)
		}
	default:
		c.others = append(c.others, object)
	}
}

// prepared makes the default profile on a snapshot; listers have the objects that are neither nodes nor pods.
func (c *cluster) prepared(ctx context.Context) (*upstreamsync.ProfileMap, *schedulercache.Snapshot, error) {
	client := fake.NewClientset(c.others...)
	informers := scheduler.NewInformerFactory(client, 0)
	snap := schedulercache.NewSnapshot(c.running, c.nodes)
	config, err := latest.Default()
	if err != nil {
		return nil, nil, err
	}
	profiles, err := framework.NewProfileMap(ctx, client, informers, snap, config)
	if err != nil {
		return nil, nil, err
	}
	informers.StartWithContext(ctx)
	return profiles, snap, informers.WaitForCacheSyncWithContext(ctx).Err
}

// firstThatFits has the library place the pods; returns how many got a node.
func (c *cluster) firstThatFits(
	ctx context.Context, profiles *upstreamsync.ProfileMap, snap *schedulercache.Snapshot,
) (int, error) {
	cluster := snapshot.New(snap, profiles)
	names := make([]string, len(c.nodes))
	for i, node := range c.nodes {
		names[i] = node.Name
	}
	placement, err := cluster.MakePlacement(names)
	if err != nil {
		return 0, err
	}
	results, err := cluster.SchedulePods(ctx, c.waiting, placement, snapshot.NewSchedulePodsOptions(false, false))
	placed := 0
	for _, result := range results {
		if result.Status.IsSuccess() {
			placed++
		}
	}
	return placed, err
}

// bestOfAll does the same with every node visited and scored.
func (c *cluster) bestOfAll(
	ctx context.Context, profiles *upstreamsync.ProfileMap, snap *schedulercache.Snapshot,
) (int, error) {
	placed := 0
	for cycle, pod := range c.waiting {
		profile, err := profiles.FrameworkForPod(pod)
		if err != nil {
			return placed, err
		}
		info, err := schedulerframework.NewPodInfo(pod)
		if err != nil {
			return placed, err
		}
		state := schedulerframework.NewCycleState()
		state.SetPodGroupSchedulingCycle(schedulerframework.NewCycleState())
		pending := &upstreamsync.PendingPod{PodInfo: info, CycleState: state}
		everyone := upstreamsync.NewScheduler(snap, int64(cycle), 0, int32(len(c.nodes)))
		if result, _ := everyone.SchedulePod(ctx, profile, pending); result.Status.IsSuccess() {
			placed++
		}
	}
	if placed == 0 {
		return 0, errors.New("no pod got a node")
	}
	return placed, nil
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "schedulerlibrary:", err)
		os.Exit(2)
	}
}
