import Testing

@testable import Peer

@Suite("The choice of a simulcast layer") struct SimulcastSelectionTests {
    /// Layer 1 is in use and 360 pixels high, so layer 0 has 180 and layer 2 has 720.
    @Test(
        "The smallest layer that fills the wanted height is chosen, and the best if none does",
        arguments: [(nil, 2), (90, 0), (180, 0), (181, 1), (360, 1), (361, 2), (2000, 2)] as [(Int?, Int)])
    func wanted(height: Int?, layer: Int) {
        #expect(SimulcastSelection.choose(present: [2, 0, 1], current: (1, 360), wanted: height) == layer)
    }

    @Test("Only a layer that is present is chosen")
    func present() {
        #expect(SimulcastSelection.choose(present: [1], current: (1, 360), wanted: 90) == 1)
        #expect(SimulcastSelection.choose(present: [], current: (1, 360), wanted: 90) == nil)
    }

    @Test("The best layer is chosen until the height of one is known")
    func unknown() {
        #expect(SimulcastSelection.choose(present: [0, 1], current: nil, wanted: 90) == 1)
        #expect(SimulcastSelection.choose(present: [0, 1], current: (0, 0), wanted: 90) == 1)
    }
}
