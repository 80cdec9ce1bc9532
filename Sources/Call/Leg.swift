import Basics
import Peer

/// One headless participant's media: a peer connection on its own UDP socket. Confined to the loop's thread.
final class Leg {
    let number: Int
    /// The address of this leg's socket; datagrams to its port belong to this leg.
    let address: SocketAddress
    let connection: PeerConnection
    /// Called with each event of the connection.
    let onEvent: (PeerEvent) -> Void
    private(set) var isConnected = false
    private(set) var wantsKeyframe = false

    init(number: Int, address: SocketAddress, connection: PeerConnection, onEvent: @escaping (PeerEvent) -> Void) {
        self.number = number
        self.address = address
        self.connection = connection
        self.onEvent = onEvent
    }

    /// Returns whether a keyframe was requested, and clears the request.
    func takeKeyframeRequest() -> Bool {
        defer { wantsKeyframe = false }
        return wantsKeyframe
    }

    func advance(to now: Instant) {
        connection.advance(to: now)
        while let event = connection.nextEvent() {
            switch event {
            case .connected:
                isConnected = true
                wantsKeyframe = true
            case .keyframeRequested: wantsKeyframe = true
            case .failed, .closed, .overBudget: isConnected = false
            default: break
            }
            onEvent(event)
        }
    }
}
