/// Why a connection to another server cannot be made, or has ended. Its text has no credentials.
package enum StreamingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The URL or the settings do not permit it: trying again changes nothing.
    case refused(String)
    /// The network or the other server: it may work later.
    case failed(String)

    /// A sentence, which says what to change where the user can.
    package var description: String {
        switch self {
        case .refused(let text), .failed(let text): text
        }
    }

    /// Whether another try may succeed.
    package var isPassing: Bool {
        switch self {
        case .refused: false
        case .failed: true
        }
    }
}
