/// An error that may forbid to go on with the source, and to try it again.
package protocol FinalError: Error {
    var isFinal: Bool { get }
}

/// Why a demuxer could not open or read its source.
package enum DemuxError: Error, Equatable, CustomStringConvertible {
    /// `ReadInterrupt.cancel` was called.
    case cancelled
    /// The deadline of `ReadInterrupt` has passed.
    case timedOut
    /// The server names another URL, which libavformat would open without a check.
    case redirected
    /// There is neither audio nor video that can be decoded.
    case noMedia(String)
    /// The library's reason.
    case failed(String)

    package var description: String {
        switch self {
        case .cancelled: "cancelled"
        case .timedOut: "nothing came in time"
        case .redirected: "the server redirects to another URL; give that one"
        case .noMedia(let reason), .failed(let reason): reason
        }
    }
}
