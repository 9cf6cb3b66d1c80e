//go:build !kube133

package main

import (
	"context"
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcev1client "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// deviceObjects is what is claimed, and what there is.
type deviceObjects struct {
	claims  []*resourcev1.ResourceClaim
	classes []*resourcev1.DeviceClass
	slices  []*resourcev1.ResourceSlice
	rules   taintRules
}

// decode adds an object of one of the kinds; others are left out.
func (d *deviceObjects) decode(kind string, text []byte) error {
	switch kind {
	case "ResourceClaim":
		return add(&d.claims, text)
	case "DeviceClass":
		return add(&d.classes, text)
	case "ResourceSlice":
		return add(&d.slices, text)
	case "DeviceTaintRule":
		return d.rules.decode(text)
	}
	return nil
}

func (d *deviceObjects) fill(informers *informerSet) {
	kinds := informers.Resource().V1()
	deliver(informers, kinds.DeviceClasses().Informer(), d.classes)
	d.rules.fill(informers)
	deliver(informers, kinds.ResourceSlices().Informer(), d.slices)
	deliver(informers, kinds.ResourceClaims().Informer(), d.claims)
}

// giveDevices writes what was reserved into the claims of a pod, as the scheduler does before it binds the pod. Pods with
// claims have no volumes here, so no other plugin has anything to do.
func (a *attempt) giveDevices(pod *v1.Pod, node string) error {
	ctx := a.scheduling.ctx
	if status := a.profile.RunPreBindPreFlights(ctx, a.state, pod, node); status.AsError() != nil {
		return status.AsError()
	}
	if status := a.profile.RunPreBindPlugins(ctx, a.state, pod, node); !status.IsSuccess() {
		return fmt.Errorf("%s gets no devices on %s: %w", keyOf(pod), node, status.AsError())
	}
	return nil
}

// devicesOf returns what the claims of a pod have now, by claim.
func (s *scheduling) devicesOf(pod *v1.Pod) map[string][]string {
	found := map[string][]string{}
	claims := s.informers.Resource().V1().ResourceClaims().Lister().ResourceClaims(pod.Namespace)
	for _, used := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &used)
		if err != nil || name == nil {
			continue
		}
		claim, err := claims.Get(*name)
		if err != nil || claim.Status.Allocation == nil {
			continue
		}
		devices := []string{}
		for _, got := range claim.Status.Allocation.Devices.Results {
			devices = append(devices, fmt.Sprintf("%s %s/%s/%s", got.Request, got.Driver, got.Pool, got.Device))
		}
		found[*name] = devices
	}
	return found
}

func (c *client) ResourceV1() resourcev1client.ResourceV1Interface { return deviceClient{client: c} }

type deviceClient struct {
	resourcev1client.ResourceV1Interface
	client *client
}

func (c deviceClient) ResourceClaims(namespace string) resourcev1client.ResourceClaimInterface {
	return claimClient{client: c.client, namespace: namespace}
}

type claimClient struct {
	resourcev1client.ResourceClaimInterface
	client    *client
	namespace string
}

func (c claimClient) Get(
	_ context.Context, name string, _ metav1.GetOptions,
) (*resourcev1.ResourceClaim, error) {
	return c.client.informers.Resource().V1().ResourceClaims().Lister().ResourceClaims(c.namespace).Get(name)
}

func (c claimClient) Update(
	_ context.Context, claim *resourcev1.ResourceClaim, _ metav1.UpdateOptions,
) (*resourcev1.ResourceClaim, error) {
	return c.replace(claim)
}

func (c claimClient) UpdateStatus(
	_ context.Context, claim *resourcev1.ResourceClaim, _ metav1.UpdateOptions,
) (*resourcev1.ResourceClaim, error) {
	return c.replace(claim)
}

// replace changes a claim and lets the scheduler know.
func (c claimClient) replace(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	before, err := c.Get(context.Background(), claim.Name, metav1.GetOptions{})
	if err != nil || c.client.frozen {
		return before, err
	}
	after := claim.DeepCopy()
	prepare(after)
	after.ResourceVersion = nextVersion(before.ResourceVersion)
	c.client.informers.byType[reflect.TypeFor[*resourcev1.ResourceClaim]()].update(before, after)
	return after.DeepCopy(), nil // the scheduler changes what it gets
}

// prepare does what drivers do once a claim has devices that wait for it: all is ready at once.
func prepare(claim *resourcev1.ResourceClaim) {
	if claim.Status.Allocation == nil || len(claim.Status.Devices) > 0 {
		return
	}
	for _, got := range claim.Status.Allocation.Devices.Results {
		said := resourcev1.AllocatedDeviceStatus{Driver: got.Driver, Pool: got.Pool, Device: got.Device}
		for _, each := range got.BindingConditions {
			said.Conditions = append(said.Conditions, metav1.Condition{Type: each, Status: metav1.ConditionTrue})
		}
		if len(said.Conditions) > 0 {
			claim.Status.Devices = append(claim.Status.Devices, said)
		}
	}
}

// nextVersion is greater than a version, which is a number here.
func nextVersion(version string) string {
	number := 0
	_, _ = fmt.Sscan(version, &number)
	return fmt.Sprint(number + 1)
}
