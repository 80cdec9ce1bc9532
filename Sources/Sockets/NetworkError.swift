import Basics
import Glibc

/// A system call on a socket that failed.
public struct NetworkError: Error, CustomStringConvertible, Equatable {
    /// The failed operation, e.g. "bind UDP 0.0.0.0:50000".
    public var operation: String
    /// The system's error number.
    public var code: Int32

    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The reason, and what the user can change.
    public var description: String {
        let reason = String(cString: strerror(code))
        let mend =
            switch code {
            case EADDRINUSE: "another program uses this port: stop it or choose another port"
            case EACCES, EPERM: "this user may not use that port: choose one above 1023 or grant CAP_NET_BIND_SERVICE"
            case EADDRNOTAVAIL: "no interface of this machine has that address"
            case EMFILE, ENFILE: "too many open files: raise the limit (ulimit -n)"
            case EAFNOSUPPORT: "this machine has no support for that address family"
            default: "see the system's message"
            }
        return "\(operation): \(reason) (\(mend))"
    }
}
