import Basics
import Testing

@Suite struct BacklogTests {
    @Test func `what waits is handed out in order, and the most that waited is remembered`() {
        var backlog = Backlog<Int>()
        for number in 0..<5 { backlog.append(number) }
        #expect(backlog.takeAll() == [0, 1, 2, 3, 4])
        #expect(backlog.isEmpty && backlog.peak == 5)
        backlog.append(7)
        #expect(backlog.count == 1 && backlog.peak == 5)
        #expect(backlog.takeAll() == [7])
    }
}
