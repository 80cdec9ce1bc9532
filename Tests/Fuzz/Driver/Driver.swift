import CFuzzing
import Foundation
import FuzzBodies
import Fuzzing

/// Runs libFuzzer on one target.
///
///     fuzz --list                       group, name and what it covers of each target, a line each
///     fuzz --seeds FOLDER               writes seeds and dictionaries of all targets
///     fuzz TARGET --measure FOLDER      what the dearest inputs of a folder cost
///     fuzz TARGET [libFuzzer's own arguments]
@main enum Driver {
    /// Set once, before the first input: what libFuzzer calls has no context.
    nonisolated(unsafe) private static var target: FuzzTarget?

    static func main() {
        let arguments = CommandLine.arguments
        switch arguments.count > 1 ? arguments[1] : "--list" {
        case "--list":
            for (group, targets) in FuzzTargets.groups { for target in targets { print(group, target.name, target.covers, separator: "\t") } }
        case "--seeds" where arguments.count == 3:
            do {
                for target in FuzzTargets.all { try target.writeSeeds(to: URL(fileURLWithPath: arguments[2])) }
            } catch {
                fail("\(error)")
            }
        case let name:
            guard let chosen = FuzzTargets.all.first(where: { $0.name == name }) else { fail("there is no target \(name)") }
            target = chosen
            if arguments.count == 4, arguments[2] == "--measure" { return measure(chosen, arguments[3]) }
            fuzz(chosen, Array(arguments.dropFirst(2)))
        }
    }

    private static func fuzz(_ target: FuzzTarget, _ arguments: [String]) {
        let all = [CommandLine.arguments[0], "-max_len=\(target.maximumLength)"] + arguments
        // libFuzzer keeps what it is given for as long as the process lives.
        let argv = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: all.count + 1)
        for (index, argument) in all.enumerated() { argv[index] = strdup(argument) }
        argv[all.count] = nil
        var count = CInt(all.count)
        var pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = argv
        exit(LLVMFuzzerRunDriver(&count, &pointer) { bytes, count in Driver.one(bytes, count) })
    }

    private static func measure(_ target: FuzzTarget, _ folder: String) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let costs = files.sorted().compactMap { name in
            FileManager.default.contents(atPath: folder + "/" + name).map { (name: name, work: target.measure(Array($0))) }
        }
        print("\(costs.count) inputs")
        for (what, share) in [("time", \Work.timeShare), ("memory", \Work.memoryShare)] as [(String, KeyPath<Work, Double>)] {
            for (name, work) in costs.sorted(by: { $0.work[keyPath: share] > $1.work[keyPath: share] }).prefix(3) {
                print("\(what) \(Int(work[keyPath: share] * 100)) %: \(name): \(work)")
            }
        }
    }

    /// Of processor time: an input that never ends.
    private static let longestRun: UInt32 = 20

    private static func one(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzing_allow(longestRun)
        target?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(2)
    }
}
