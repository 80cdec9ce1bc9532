/// The requests that wait for a stream's next media, and what each waits for: a value.
struct HLSReaders: Sendable {
    /// What a reader gets.
    enum Answer: Sendable {
        case ready(HLSWindow)
        case never
        case timeout
    }

    /// What a reader waits for.
    enum Want: Sendable {
        case playlist(segment: Int?, part: Int?)
        case file(HLSFile)
    }

    private struct Reader: Sendable {
        var want: Want
        var turns: Int
        var answer: @Sendable (Answer) -> Void
    }

    /// The longest wait, in seconds: the length of the shortest playlist, and more than the three target durations of
    /// RFC 8216bis §6.2.5.2.
    static let longestWait = HLSLimits.targetSeconds * HLSLimits.fewestSegments + 3

    private var readers: [Int: Reader] = [:]
    private var count = 0

    var isEmpty: Bool { readers.isEmpty }
    var waiting: Int { readers.count }

    /// The answer that is known already; nil: the reader has to wait.
    static func answer(_ want: Want, _ window: HLSWindow) -> Answer? {
        let wait =
            switch want {
            case .playlist(let segment, let part): window.wait(forSegment: segment, part: part)
            case .file(let file): window.wait(for: file)
            }
        switch wait {
        case .ready: return .ready(window)
        case .never: return .never
        case .waiting: return nil
        }
    }

    /// Adds a reader, whose `answer` is called once. Returns its number.
    mutating func add(_ want: Want, _ answer: @escaping @Sendable (Answer) -> Void) -> Int {
        count += 1
        readers[count] = Reader(want: want, turns: Self.longestWait, answer: answer)
        return count
    }

    mutating func remove(_ number: Int) -> (@Sendable (Answer) -> Void)? {
        readers.removeValue(forKey: number)?.answer
    }

    /// Removes the readers whose wait has ended, with their answers.
    mutating func take(_ window: HLSWindow) -> [(@Sendable (Answer) -> Void, Answer)] {
        let ready = readers.compactMap { number, reader in
            Self.answer(reader.want, window).map { (number, reader.answer, $0) }
        }
        for (number, _, _) in ready { readers[number] = nil }
        return ready.map { ($0.1, $0.2) }
    }

    /// Called once a second. Removes the readers that have waited too long.
    mutating func expire() -> [(@Sendable (Answer) -> Void, Answer)] {
        for number in readers.keys { readers[number]?.turns -= 1 }
        let late = readers.filter { $0.value.turns <= 0 }
        for number in late.keys { readers[number] = nil }
        return late.values.map { ($0.answer, .timeout) }
    }
}
