package admin

import (
	"net/http"

	"turnlog/eventlog"
	"turnlog/identity"
)

// user is whom the path names: an operator, whose scope was checked, acts on the
// threads of others as those would name them themselves.
func user(r *http.Request) identity.Identity {
	return identity.Identity{User: r.PathValue("user")}
}

// thread is the thread that the path names.
func thread(r *http.Request) eventlog.Thread {
	return user(r).Thread(r.PathValue("thread"))
}
