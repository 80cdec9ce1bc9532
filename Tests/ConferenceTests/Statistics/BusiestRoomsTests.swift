import Basics
import Testing

@testable import Conference

@Suite("The rooms that have series of their own")
struct BusiestRoomsTests {
    @Test("are the busiest, by name where they are equal")
    func busiest() {
        var rooms = BusiestRooms(limit: 2)
        #expect(rooms.choose(among: ["a": 1, "b": 5, "c": 3, "d": 0]) == ["b", "c"])
        var equal = BusiestRooms(limit: 2)
        #expect(equal.choose(among: ["c": 2, "b": 2, "a": 2]) == ["a", "b"])
        var none = BusiestRooms(limit: 0)
        #expect(none.choose(among: ["a": 9]).isEmpty)
    }

    @Test("stay until a room has more than twice as many people")
    func stable() {
        var rooms = BusiestRooms(limit: 1)
        #expect(rooms.choose(among: ["a": 3, "b": 2]) == ["a"])
        for people in [3, 4, 5, 6] { #expect(rooms.choose(among: ["a": 3, "b": people]) == ["a"]) }
        #expect(rooms.choose(among: ["a": 3, "b": 7]) == ["b"])
        for people in 3...14 { #expect(rooms.choose(among: ["a": people, "b": 7]) == ["b"]) }
        #expect(rooms.choose(among: ["a": 3, "b": 0]) == ["a"], "an empty room yields to any other")
    }

    @Test("keep their place while nobody else needs it, and lose it with their end")
    func endings() {
        var rooms = BusiestRooms(limit: 2)
        #expect(rooms.choose(among: ["a": 3, "b": 0]) == ["a"], "a room that nobody was in has none")
        #expect(rooms.choose(among: ["a": 0, "b": 0]) == ["a"])
        #expect(rooms.choose(among: ["b": 1]) == ["b"])
        #expect(rooms.choose(among: [:]).isEmpty)
    }

    @Test("the mean and the worst of a figure, and none where nobody has it")
    func spread() {
        var spread = Spread { abs($0) > abs($1) }
        #expect(spread.samples("x", "X.", room: "r").isEmpty)
        for value in [0.01, nil, -0.05, 0.01] { spread.add(value) }
        let samples = spread.samples("x", "X.", room: "r")
        #expect(samples.map { $0.labels["over"] } == ["mean", "worst"])
        #expect(abs(samples[0].value + 0.01) < 1e-9 && samples[1].value == -0.05)
    }
}
