package main

import (
	"context"
	"fmt"

	"github.com/csi-addons/kubernetes-csi-addons/internal/proto"
)

// call is one of the controller's calls, made by a test of the storage.
type call struct {
	Site   string `json:"site"`
	Volume string `json:"volume"`
	RPC    string `json:"rpc"`
	Force  bool   `json:"force"`
}

func (r *replication) call(call call) (any, error) {
	ctx := context.Background()
	source := &proto.ReplicationSource{Type: &proto.ReplicationSource_Volume{Volume: &proto.ReplicationSource_VolumeSource{VolumeId: call.Volume}}}
	switch call.RPC {
	case "PromoteVolume":
		return r.PromoteVolume(ctx, &proto.PromoteVolumeRequest{ReplicationSource: source, Force: call.Force})
	case "DemoteVolume":
		return r.DemoteVolume(ctx, &proto.DemoteVolumeRequest{ReplicationSource: source})
	case "ResyncVolume":
		answer, err := r.ResyncVolume(ctx, &proto.ResyncVolumeRequest{ReplicationSource: source, Force: call.Force})
		return map[string]bool{"ready": answer.GetReady()}, err
	case "GetVolumeReplicationInfo":
		answer, err := r.GetVolumeReplicationInfo(ctx, &proto.GetVolumeReplicationInfoRequest{ReplicationSource: source})
		return map[string]string{"lastSyncTime": answer.GetLastSyncTime().AsTime().Format("2006-01-02T15:04:05.000Z"), "status": answer.GetStatus().String()}, err
	}
	return nil, fmt.Errorf("no call %s", call.RPC)
}
