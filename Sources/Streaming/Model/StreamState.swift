package import Foundation

/// What a stream to another server does.
package enum StreamState: Hashable, Sendable {
    /// The first attempt is under way.
    case connecting
    /// Media goes out.
    case live
    /// The connection is lost, or was never made, since `since`, after so many failed attempts.
    case retrying(since: Date, attempts: Int, reason: String)
    /// The server was away for too long, or the target is not permitted.
    case failed(reason: String)
    /// It was ended in order.
    case ended

    /// Whether nothing follows.
    package var isOver: Bool {
        switch self {
        case .failed, .ended: true
        case .connecting, .live, .retrying: false
        }
    }
}

extension StreamState {
    /// The state in one word, for programs.
    package var name: String {
        switch self {
        case .connecting: "connecting"
        case .live: "live"
        case .retrying: "retrying"
        case .failed: "failed"
        case .ended: "ended"
        }
    }

    /// The words that a state can have.
    package static let names = ["connecting", "live", "retrying", "failed", "ended"]
}
