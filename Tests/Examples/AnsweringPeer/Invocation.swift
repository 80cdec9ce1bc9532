public import Basics
import Foundation
import Sockets

/// The command line of both programs: `program [ADDRESS …]`, with the offer on standard input.
public enum Invocation {
    /// Runs the program. An error is written to standard error and ends the program with status 1.
    public static func run(_ program: () throws -> Void) {
        do {
            try program()
        } catch {
            note("\(error)")
            exit(1)
        }
    }

    /// Reads the offer from standard input, up to its end.
    public static func offer() -> String {
        String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
    }

    /// Writes the answer to standard output and closes it, so that the reader knows that the answer is complete.
    public static func tell(_ answer: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data(answer.utf8))
        try FileHandle.standardOutput.close()
    }

    /// The address in the first argument, or this machine's first address that is not loopback.
    public static func address() -> IPAddress {
        let given = CommandLine.arguments.dropFirst().first.flatMap { IPAddress($0) }
        let loopback: [IPAddress] = ["127.0.0.1", "::1"].compactMap { IPAddress($0) }
        return given ?? interfaceAddresses().first { !loopback.contains($0) } ?? loopback[0]
    }

    /// Writes a line to standard error.
    public static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
