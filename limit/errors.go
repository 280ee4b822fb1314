package limit

import "errors"

// Why a connection is not granted.
var (
	ErrConnections     = errors.New("this node has as many connections as it takes")
	ErrUserConnections = errors.New("this user has as many connections as one may have")
)
