package main

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/tools/cache"
)

// informerSet gives out one informer a kind, for the API groups that the scheduler watches.
type informerSet struct {
	informers.SharedInformerFactory
	byType map[reflect.Type]*informer
}

func newInformerSet() *informerSet { return &informerSet{byType: map[reflect.Type]*informer{}} }

func (s *informerSet) InformerFor(
	object runtime.Object, create internalinterfaces.NewInformerFunc,
) cache.SharedIndexInformer {
	kind := reflect.TypeOf(object)
	if s.byType[kind] == nil {
		s.byType[kind] = &informer{SharedIndexInformer: create(nil, 0)}
	}
	return s.byType[kind]
}

func (s *informerSet) Core() core.Interface { return core.New(s, metav1.NamespaceAll, nil) }

func (s *informerSet) Apps() apps.Interface { return apps.New(s, metav1.NamespaceAll, nil) }

func (s *informerSet) Policy() policy.Interface { return policy.New(s, metav1.NamespaceAll, nil) }

func (s *informerSet) Resource() resource.Interface { return resource.New(s, metav1.NamespaceAll, nil) }

func (s *informerSet) Storage() storage.Interface { return storage.New(s, metav1.NamespaceAll, nil) }

// informer has the real one's index but never runs: what is put in goes to the handlers before put returns, in the order
// of the calls.
type informer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	// Whoever waits for this one waits until the end: it never runs.
	return i.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
}

func (i *informer) AddEventHandlerWithResyncPeriod(
	h cache.ResourceEventHandler, _ time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, _ cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) add(object any) {
	exitOn(i.GetIndexer().Add(object))
	for _, h := range i.handlers {
		h.OnAdd(object, true)
	}
}

func (i *informer) update(before, after any) {
	exitOn(i.GetIndexer().Update(after))
	for _, h := range i.handlers {
		h.OnUpdate(before, after)
	}
}

func (i *informer) remove(object any) {
	exitOn(i.GetIndexer().Delete(object))
	for _, h := range i.handlers {
		h.OnDelete(object)
	}
}
