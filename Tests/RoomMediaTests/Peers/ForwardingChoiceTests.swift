import Basics
import Testing

@testable import RoomMedia

@Suite("Who takes frames as they came")
struct ForwardingChoiceTests {
    private func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }

    @Test("a link that carries a camera and loses little, with room between taking and leaving it")
    func links() {
        var choice = ForwardingChoice()
        func takes(
            _ kilobits: Int?, loss: Double = 0, isOffered: Bool = true, rung: Int? = 1, isShared: Bool = false
        ) -> Bool {
            choice.takes(
                isOffered: isOffered, rung: rung, isShared: isShared, budget: kilobits.map { .kilobits($0) },
                loss: loss,
                at: at(0))
        }
        #expect(!takes(nil) && !takes(340) && !takes(800, loss: 0.06) && !takes(800, isOffered: false))
        #expect(takes(350) && takes(260) && takes(260, loss: 0.09))
        #expect(!takes(240) && !takes(300), "it was left")
        #expect(!takes(900, rung: nil), "stills")
        #expect(!takes(900, rung: 1, isShared: true) && takes(1500, rung: 0, isShared: true), "others would pay")
        #expect(takes(400, loss: 0.04) && !takes(400, loss: 0.11) && !takes(400, loss: 0.08))
    }

    @Test("who needs four keyframes in ten seconds gets the mix for half a minute")
    func repairs() {
        var choice = ForwardingChoice()
        func takes(_ second: Int) -> Bool {
            choice.takes(isOffered: true, rung: 0, isShared: false, budget: .megabits(1), loss: 0, at: at(second))
        }
        #expect(takes(0))
        let ended = [0, 5, 10, 15, 16, 17].map { choice.repaired(at: at($0)) }
        #expect(ended == [false, false, false, false, false, true])
        #expect(!takes(17) && !takes(46) && takes(47))
        let again = choice.repaired(at: at(48))
        #expect(!again, "counted anew")
    }
}
