package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/status"
)

// control is how a test sets what is wrong, writes as an application does, and reads what became of the data: JSON over HTTP on a unix socket.
type control struct {
	storage *storage
	faults  *faults
	fences  *fences
	ports   map[string]int
	sites   map[string]*replication
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ports", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.ports) })
	mux.HandleFunc("GET /damage", func(w http.ResponseWriter, _ *http.Request) {
		c.storage.mu.Lock()
		defer c.storage.mu.Unlock()
		answer(w, append([]Damage{}, c.storage.damage...))
	})
	mux.HandleFunc("GET /fences", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.fences.list()) })
	mux.HandleFunc("GET /volume", func(w http.ResponseWriter, r *http.Request) { answer(w, c.storage.describe(r.URL.Query().Get("name"))) })
	handle(mux, "POST /fault", func(where struct {
		Fault
		Remove bool `json:"remove"`
		// Replace: instead of all faults that the volume has at the site.
		Replace bool `json:"replace"`
	}) (any, error) {
		switch {
		case where.Remove:
			c.faults.set(where.Fault, nil)
		case where.Replace:
			c.faults.set(Fault{Site: where.Site, Volume: where.Volume}, &where.Fault)
		default:
			c.faults.set(where.Fault, &where.Fault)
		}
		return nil, nil
	})
	handle(mux, "POST /link", func(link struct {
		Volume string `json:"volume"`
		Cut    bool   `json:"cut"`
	}) (any, error) {
		c.storage.mu.Lock()
		defer c.storage.mu.Unlock()
		if link.Volume == "" {
			c.storage.linkCut = link.Cut
		} else {
			c.storage.volume(link.Volume).linkCut = link.Cut
		}
		return nil, nil
	})
	handle(mux, "POST /transfer", func(of struct {
		Volume string `json:"volume"`
		Ms     int    `json:"ms"`
	}) (any, error) {
		c.storage.mu.Lock()
		defer c.storage.mu.Unlock()
		transfer := time.Duration(of.Ms) * time.Millisecond
		c.storage.volume(of.Volume).transfer = &transfer
		return nil, nil
	})
	handle(mux, "POST /write", func(at struct {
		Site   string `json:"site"`
		Volume string `json:"volume"`
	}) (any, error) {
		version, err := c.storage.write(at.Site, at.Volume)
		return map[string]int64{"version": version}, err
	})
	handle(mux, "POST /holds", func(of struct {
		Site    string `json:"site"`
		Volume  string `json:"volume"`
		Version int64  `json:"version"`
	}) (any, error) {
		return c.storage.holds(of.Site, of.Volume, of.Version), nil
	})
	handle(mux, "POST /call", func(call call) (any, error) { return c.sites[call.Site].call(call) })
	return mux
}

// describe is a volume as the storage knows it.
func (s *storage) describe(name string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volume(name)
	primaries, diverged, versions := []string{}, []string{}, map[string]int64{}
	for _, site := range s.sites {
		r := v.replicas[site]
		versions[site] = newestOf(r.log)
		if r.primary {
			primaries = append(primaries, site)
		}
		if r.diverged {
			diverged = append(diverged, site)
		}
	}
	return map[string]any{"primaries": primaries, "diverged": diverged, "versions": versions, "acknowledged": v.acknowledged, "underway": v.underway != nil}
}

func handle[T any](mux *http.ServeMux, pattern string, work func(T) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result, err := work(body)
		if err != nil {
			w.WriteHeader(http.StatusConflict)
			answer(w, map[string]string{"error": err.Error(), "code": status.Code(err).String()})
			return
		}
		answer(w, result)
	})
}

func answer(w http.ResponseWriter, body any) {
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Print(err)
	}
}

// inspector asks the lab who still uses a volume that is about to be demoted.
type inspector struct {
	client *http.Client
}

func newInspector(socket string) *inspector {
	if socket == "" {
		return &inspector{}
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &inspector{client: &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: time.Minute}}
}

func (i *inspector) usersOf(ctx context.Context, site, volume string) string {
	if i.client == nil {
		return ""
	}
	body, _ := json.Marshal(map[string]string{"site": site, "volume": volume})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://lab/users", bytes.NewReader(body))
	if err != nil {
		return ""
	}
	response, err := i.client.Do(req)
	if err != nil {
		log.Printf("cannot ask who uses %s: %v", volume, err)
		return ""
	}
	defer response.Body.Close()
	var found struct {
		Users string `json:"users"`
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		log.Printf("cannot read who uses %s: %v", volume, err)
	}
	return found.Users
}
