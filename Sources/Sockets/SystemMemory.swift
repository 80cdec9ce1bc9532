import CSockets

/// What the process holds of the machine's memory.
public enum SystemMemory {
    /// Gives back what the allocator keeps of memory that nobody uses any more. Holds up other threads' allocations for some
    /// milliseconds: for quiet moments.
    public static func release() { net_release_memory() }
}
