package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/types"
)

// record is what the plugins of one cycle did, in order.
type record struct {
	evictions []eviction
	errors    []pluginError
	runs      []pluginRun
}

// pluginRun is one call of Deschedule or Balance.
type pluginRun struct {
	profile, plugin string
	took            time.Duration
}

// registry returns the descheduler's own registry with each plugin under observation for one profile.
func (r *record) registry(profile string) pluginregistry.Registry {
	observed := pluginregistry.NewRegistry()
	for name, plugin := range pluginregistry.PluginRegistry {
		build := plugin.PluginBuilder
		plugin.PluginBuilder = func(ctx context.Context, args runtime.Object, handle types.Handle) (types.Plugin, error) {
			watch := observer{record: r, profile: profile}
			built, err := build(ctx, args, observedHandle{handle, watch})
			if err != nil {
				return nil, err
			}
			return watch.wrap(built), nil
		}
		observed[name] = plugin
	}
	return observed
}

type observer struct {
	record  *record
	profile string
}

func (o observer) wrap(plugin types.Plugin) types.Plugin {
	switch plugin := plugin.(type) {
	case types.DeschedulePlugin:
		return observedDeschedule{plugin, o}
	case types.BalancePlugin:
		return observedBalance{plugin, o}
	default:
		return plugin
	}
}

// timed runs a plugin and notes its time and its error.
func (o observer) timed(plugin string, run func() *types.Status) *types.Status {
	start := time.Now()
	status := run()
	o.record.runs = append(o.record.runs, pluginRun{o.profile, plugin, time.Since(start)})
	if status != nil && status.Err != nil {
		o.record.errors = append(o.record.errors, pluginError{o.profile, plugin, status.Err.Error()})
	}
	return status
}

type observedDeschedule struct {
	types.DeschedulePlugin
	observer
}

func (d observedDeschedule) Deschedule(ctx context.Context, nodes []*v1.Node) *types.Status {
	return d.timed(d.Name(), func() *types.Status { return d.DeschedulePlugin.Deschedule(ctx, nodes) })
}

type observedBalance struct {
	types.BalancePlugin
	observer
}

func (b observedBalance) Balance(ctx context.Context, nodes []*v1.Node) *types.Status {
	return b.timed(b.Name(), func() *types.Status { return b.BalancePlugin.Balance(ctx, nodes) })
}

// observedHandle gives a plugin an evictor whose calls are recorded.
type observedHandle struct {
	types.Handle
	observer
}

func (h observedHandle) Evictor() types.Evictor {
	return observedEvictor{h.Handle.Evictor(), h.observer}
}

type observedEvictor struct {
	types.Evictor
	observer
}

func (e observedEvictor) Evict(ctx context.Context, pod *v1.Pod, opts evictions.EvictOptions) error {
	err := e.Evictor.Evict(ctx, pod, opts)
	noted := eviction{
		Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName, Profile: e.profile, Plugin: opts.StrategyName,
	}
	if err != nil {
		noted.Refused = err.Error()
	}
	e.record.evictions = append(e.record.evictions, noted)
	return err
}
