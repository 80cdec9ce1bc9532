/// Identifies one peer connection of the server during its life: its loop, and its number there.
package struct PeerID: Hashable, Sendable {
    package let loop: Int
    package let number: Int

    package init(loop: Int, number: Int) {
        self.loop = loop
        self.number = number
    }
}
