import CFuzzing
import Foundation
import FuzzBodies
import Fuzzing

/// Runs libFuzzer on one target.
///
///     fuzz --list                       prints a line with group, name and description of each target
///     fuzz --seeds FOLDER               writes seeds and dictionaries of all targets
///     fuzz TARGET --measure FOLDER      prints the cost of the most expensive inputs of a folder
///     fuzz TARGET [libFuzzer's own arguments]
@main enum Driver {
    /// The target, set once before the first input, because libFuzzer's callbacks have no context.
    nonisolated(unsafe) private static var target: FuzzTarget?
    nonisolated(unsafe) private static var climb = Climb(seeds: [], seed: 1) { _ in 0 }

    static func main() {
        let arguments = CommandLine.arguments
        switch arguments.count > 1 ? arguments[1] : "--list" {
        case "--list":
            for (group, targets) in FuzzTargets.groups {
                for target in targets { print(group, target.name, target.covers, separator: "\t") }
            }
        case "--seeds" where arguments.count == 3:
            do {
                for target in FuzzTargets.all { try target.writeSeeds(to: URL(fileURLWithPath: arguments[2])) }
            } catch {
                fail("\(error)")
            }
        case let name:
            guard let chosen = FuzzTargets.all.first(where: { $0.name == name }) else {
                fail("there is no target \(name)")
            }
            target = chosen
            if arguments.count == 4, arguments[2] == "--measure" { return measure(chosen, arguments[3]) }
            fuzz(chosen, Array(arguments.dropFirst(2)))
        }
    }

    private static func fuzz(_ target: FuzzTarget, _ arguments: [String]) {
        climb = Climb(seeds: target.seeds, seed: UInt64(getpid())) { target.measure($0).steepness }
        let all = [CommandLine.arguments[0], "-max_len=\(target.maximumLength)"] + arguments
        // libFuzzer keeps its arguments for the life of the process.
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
            FileManager.default.contents(atPath: folder + "/" + name).map {
                (name: name, work: target.measure(Array($0)))
            }
        }
        print("\(costs.count) inputs")
        for (what, share) in [("time", \Work.timeShare), ("memory", \Work.memoryShare)]
            as [(String, KeyPath<Work, Double>)]
        {
            for (name, work) in costs.sorted(by: { $0.work[keyPath: share] > $1.work[keyPath: share] }).prefix(3) {
                print("\(what) \(Int(work[keyPath: share] * 100)) %: \(name): \(work)")
            }
        }
    }

    /// The limit of processor time, after which an input counts as endless.
    private static let longestRun: UInt32 = 20

    private static func one(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzing_allow(longestRun)
        guard let target else { return 0 }
        let input = Array(UnsafeBufferPointer(start: bytes, count: count))
        let cost = target.run(input).steepness
        climb.note(input, cost: cost) { target.measure(input).steepness }
        return 0
    }

    /// Mutates libFuzzer's input, or a parent of the climb instead.
    fileprivate static func mutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ most: Int) -> Int {
        guard let parent = climb.parent(), parent.count <= most else { return LLVMFuzzerMutate(data, size, most) }
        for (index, byte) in parent.enumerated() { data[index] = byte }
        return LLVMFuzzerMutate(data, parent.count, most)
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(2)
    }
}

/// libFuzzer looks for a function with this name, and calls it to make each new input.
@_cdecl("LLVMFuzzerCustomMutator")
func customMutator(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ most: Int, _ seed: UInt32) -> Int {
    Driver.mutate(data, size, most)
}
