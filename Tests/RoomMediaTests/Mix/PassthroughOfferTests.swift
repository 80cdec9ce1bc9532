import Basics
import Testing

@testable import RoomMedia

@Suite("What a view offers as it comes")
struct PassthroughOfferTests {
    private func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1000)) }

    @Test("a picture is offered once it has filled the view for two seconds, until it does not any more")
    func delay() {
        var offer = PassthroughOffer()
        _ = offer.follow("a", at: at(10))
        #expect(offer.offered(at: at(11.9)) == nil)
        #expect(offer.offered(at: at(12)) == "a")
        let steps: [(String?, Double)] = [("a", 13), ("b", 14), (nil, 15), ("b", 16), ("b", 18), (nil, 19)]
        var (ended, offered): ([Bool], [String?]) = ([], [])
        for (picture, time) in steps {
            ended.append(offer.follow(picture, at: at(time)))
            offered.append(offer.offered(at: at(time)))
        }
        #expect(ended == [false, true, false, false, false, true], "only what was offered ends")
        #expect(offered == ["a", nil, nil, nil, "b", nil])
    }

    @Test("who sent what cannot go on is tried again after 15 seconds, and each time later, to 10 minutes")
    func refusals() {
        var offer = PassthroughOffer()
        _ = offer.follow("a", at: at(0))
        var now = 10.0
        for pause in [15.0, 30, 60, 120, 240, 480, 600, 600] {
            #expect(offer.offered(at: at(now)) == "a")
            offer.refuse("a", at: at(now))
            #expect(offer.offered(at: at(now + pause - 0.1)) == nil)
            now += pause
        }
        _ = offer.follow("b", at: at(now))
        #expect(offer.offered(at: at(now + 2)) == "b", "the fault is another's")
    }
}
