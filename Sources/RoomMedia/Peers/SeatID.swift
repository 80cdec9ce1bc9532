/// Names one peer connection of the server, as long as it lives: the loop that it is on, and its number there.
package struct SeatID: Hashable, Sendable {
    package let loop: Int
    package let number: Int

    package init(loop: Int, number: Int) {
        self.loop = loop
        self.number = number
    }
}
